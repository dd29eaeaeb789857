// The peer of facet's continuous elements on boxes: -Laplace u = f on the unit cube with u = 0 on its
// boundary and u = prod sin(pi x_i), in Q_k on n^3 equal cells, by deal.II's matrix-free multigrid. Conjugate
// gradients in double precision, preconditioned by one V-cycle of geometric multigrid in single precision
// with Chebyshev smoothers around the diagonal. The cells n = m 2^L are L refinements of m^3 cells, m = 1 or
// 3; the coarsest level is solved by a Chebyshev iteration that runs to a tolerance.
//
//     mpirun -np 1 ./poisson DEGREE [MIN_DOFS [SMOOTHER_DEGREE [REPEATS]]]
//
// prints one line of  key=value  pairs, which run.sh reads.
#include <deal.II/base/function.h>
#include <deal.II/base/mpi.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/timer.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_renumbering.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/matrix_free/fe_evaluation.h>
#include <deal.II/matrix_free/matrix_free.h>
#include <deal.II/matrix_free/operators.h>
#include <deal.II/multigrid/mg_coarse.h>
#include <deal.II/multigrid/mg_constrained_dofs.h>
#include <deal.II/multigrid/mg_matrix.h>
#include <deal.II/multigrid/mg_smoother.h>
#include <deal.II/multigrid/mg_transfer_matrix_free.h>
#include <deal.II/multigrid/multigrid.h>
#include <deal.II/numerics/vector_tools.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

using namespace dealii;

template <typename Number> using VectorOf = LinearAlgebra::distributed::Vector<Number>;
constexpr unsigned int active = numbers::invalid_unsigned_int;

// y = A x by sum factorization: values at nodes -> gradients at (k+1)^3 Gauss points -> tested with
// gradients.
template <int k, typename Number> class Laplace : public MatrixFreeOperators::Base<3, VectorOf<Number>> {
  public:
    using MatrixFreeOperators::Base<3, VectorOf<Number>>::vmult;
    using Cell = FEEvaluation<3, k, k + 1, 1, Number>;
    using Data = MatrixFree<3, Number>;
    using Range = std::pair<unsigned int, unsigned int>;

    // The product with work on ranges of the vectors before and after the cells that touch them: the
    // Chebyshev smoother looks for this signature and then makes its updates while the vectors are in the
    // cache.
    void vmult(VectorOf<Number> &y, const VectorOf<Number> &x,
               const std::function<void(unsigned int, unsigned int)> &before,
               const std::function<void(unsigned int, unsigned int)> &after) const {
        this->data->cell_loop(&Laplace::apply_cells, this, y, x, before, after);
    }

    void compute_diagonal() override {
        this->inverse_diagonal_entries = std::make_shared<DiagonalMatrix<VectorOf<Number>>>();
        VectorOf<Number> &d = this->inverse_diagonal_entries->get_vector();
        this->data->initialize_dof_vector(d);
        AlignedVector<VectorizedArray<Number>> of_cell;
        const std::function<void(const Data &, VectorOf<Number> &, const VectorOf<Number> &, const Range &)>
            add = [&](const Data &data, VectorOf<Number> &y, const VectorOf<Number> &, const Range &range) {
                Cell cell(data);
                for (unsigned int batch = range.first; batch < range.second; ++batch) {
                    cell.reinit(batch);
                    if (of_cell.size() == 0) diagonal_of_cell(cell, of_cell);
                    for (unsigned int i = 0; i < Cell::static_dofs_per_cell; ++i)
                        cell.begin_dof_values()[i] = of_cell[i];
                    cell.distribute_local_to_global(y);
                }
            };
        this->data->cell_loop(add, d, d);
        this->set_constrained_entries_to_one(d);
        for (unsigned int i = 0; i < d.locally_owned_size(); ++i) d.local_element(i) = 1 / d.local_element(i);
    }

  private:
    static void apply_cell(Cell &cell) {
        cell.evaluate(EvaluationFlags::gradients);
        for (unsigned int q = 0; q < Cell::static_n_q_points; ++q)
            cell.submit_gradient(cell.get_gradient(q), q);
        cell.integrate(EvaluationFlags::gradients);
    }

    void apply_cells(const Data &data, VectorOf<Number> &y, const VectorOf<Number> &x,
                     const Range &range) const {
        Cell cell(data);
        for (unsigned int batch = range.first; batch < range.second; ++batch) {
            cell.reinit(batch);
            cell.gather_evaluate(x, EvaluationFlags::gradients);
            for (unsigned int q = 0; q < Cell::static_n_q_points; ++q)
                cell.submit_gradient(cell.get_gradient(q), q);
            cell.integrate_scatter(EvaluationFlags::gradients, y);
        }
    }

    void apply_add(VectorOf<Number> &y, const VectorOf<Number> &x) const override {
        this->data->cell_loop(&Laplace::apply_cells, this, y, x);
    }

    // One column after the other; once per level is enough, since all cells of a level are the same cube.
    // Lanes of a first batch that hold no cell would give nothing, so the first lane speaks for all.
    static void diagonal_of_cell(Cell &cell, AlignedVector<VectorizedArray<Number>> &diagonal) {
        diagonal.resize(Cell::static_dofs_per_cell);
        for (unsigned int i = 0; i < Cell::static_dofs_per_cell; ++i) {
            for (unsigned int j = 0; j < Cell::static_dofs_per_cell; ++j)
                cell.begin_dof_values()[j] = Number(i == j);
            apply_cell(cell);
            diagonal[i] = cell.begin_dof_values()[i][0];
        }
    }
};

struct Options {
    double min_dofs = 2e6;
    unsigned int smoother_degree = 5;
    unsigned int repeats = 3;
};

template <int k> class Problem {
  public:
    explicit Problem(const Options &given) : options(given) {}

    void run() {
        Timer timer(MPI_COMM_WORLD, true);
        make_mesh();
        dofs.distribute_dofs(fe);
        dofs.distribute_mg_dofs();
        renumber();
        make_operator();
        make_right_hand_side();
        make_levels();
        solve(timer);
    }

  private:
    using LevelOperator = Laplace<k, float>;
    using Chebyshev = PreconditionChebyshev<LevelOperator, VectorOf<float>>;
    using Transfer = MGTransferMatrixFree<3, float>;

    const Options options;
    unsigned int n_cells_1d = 0;
    parallel::distributed::Triangulation<3> mesh{
        MPI_COMM_WORLD, Triangulation<3>::limit_level_difference_at_vertices,
        parallel::distributed::Triangulation<3>::construct_multigrid_hierarchy};
    FE_Q<3> fe{k};
    MappingQ1<3> mapping;
    DoFHandler<3> dofs{mesh};
    AffineConstraints<double> constraints;
    MGConstrainedDoFs level_constraints;
    Laplace<k, double> A;
    MGLevelObject<LevelOperator> level_A;
    Transfer transfer;
    mg::SmootherRelaxation<Chebyshev, VectorOf<float>> smoother;
    VectorOf<double> b, x;

    // The smallest n = m 2^L, m = 1 or 3, L >= 2, with (k n + 1)^3 >= min_dofs.
    void make_mesh() {
        unsigned int m = 0, refinements = 0;
        n_cells_1d = std::numeric_limits<unsigned int>::max();
        for (const unsigned int coarse : {1u, 3u}) {
            unsigned int L = 2;
            while (std::pow(k * (coarse << L) + 1., 3) < options.min_dofs) ++L;
            if ((coarse << L) < n_cells_1d) n_cells_1d = coarse << L, m = coarse, refinements = L;
        }
        GridGenerator::subdivided_hyper_cube(mesh, m);
        mesh.refine_global(refinements);
    }

    AffineConstraints<double> constraints_of(const unsigned int level) const {
        AffineConstraints<double> c;
        IndexSet relevant;
        if (level == active) {
            DoFTools::extract_locally_relevant_dofs(dofs, relevant);
            c.reinit(relevant);
            DoFTools::make_zero_boundary_constraints(dofs, c);
        } else {
            DoFTools::extract_locally_relevant_level_dofs(dofs, level, relevant);
            c.reinit(relevant);
            c.add_lines(level_constraints.get_boundary_indices(level));
        }
        c.close();
        return c;
    }

    void make_level_constraints() {
        level_constraints.clear();
        level_constraints.initialize(dofs);
        level_constraints.make_zero_boundary_constraints(dofs, {0});
    }

    template <typename Number>
    typename MatrixFree<3, Number>::AdditionalData settings(const unsigned int level) const {
        typename MatrixFree<3, Number>::AdditionalData s;
        s.tasks_parallel_scheme = MatrixFree<3, Number>::AdditionalData::none;
        s.mapping_update_flags = update_gradients | update_JxW_values;
        if (level == active) s.mapping_update_flags |= update_quadrature_points;
        s.mg_level = level;
        return s;
    }

    // Unknowns in the order in which the loop over the cells meets them, on the finest mesh and on every
    // level.
    void renumber() {
        DoFRenumbering::matrix_free_data_locality(dofs, constraints_of(active), settings<double>(active));
        make_level_constraints();
        for (unsigned int level = 0; level < mesh.n_global_levels(); ++level)
            DoFRenumbering::matrix_free_data_locality(dofs, constraints_of(level), settings<float>(level));
        make_level_constraints();
    }

    template <typename Number>
    std::shared_ptr<MatrixFree<3, Number>> matrix_free(const AffineConstraints<double> &c,
                                                       const unsigned int level) const {
        auto data = std::make_shared<MatrixFree<3, Number>>();
        data->reinit(mapping, dofs, c, QGauss<1>(k + 1), settings<Number>(level));
        return data;
    }

    void make_operator() {
        constraints = constraints_of(active);
        A.initialize(matrix_free<double>(constraints, active));
    }

    void make_right_hand_side() {
        A.initialize_dof_vector(b);
        A.initialize_dof_vector(x);
        const MatrixFree<3, double> &data = *A.get_matrix_free();
        FEEvaluation<3, k> cell(data);
        for (unsigned int batch = 0; batch < data.n_cell_batches(); ++batch) {
            cell.reinit(batch);
            for (unsigned int q = 0; q < cell.n_q_points; ++q) {
                VectorizedArray<double> f = 3 * numbers::PI * numbers::PI;
                for (unsigned int i = 0; i < 3; ++i) f *= std::sin(numbers::PI * cell.quadrature_point(q)[i]);
                cell.submit_value(f, q);
            }
            cell.integrate_scatter(EvaluationFlags::values, b);
        }
        b.compress(VectorOperation::add);
    }

    void make_levels() {
        const unsigned int finest = mesh.n_global_levels() - 1;
        MGLevelObject<typename Chebyshev::AdditionalData> data(0, finest);
        level_A.resize(0, finest);
        for (unsigned int level = 0; level <= finest; ++level) {
            const AffineConstraints<double> c = constraints_of(level);
            level_A[level].initialize(matrix_free<float>(c, level), level_constraints, level);
            level_A[level].compute_diagonal();
            data[level].preconditioner = level_A[level].get_matrix_diagonal_inverse();
            if (level > 0) {
                data[level].smoothing_range = 15;
                data[level].degree = options.smoother_degree;
                data[level].eig_cg_n_iterations = 10;
            } else { // to a residual of 1e-3, over the whole spectrum, with as many steps as that takes
                data[level].smoothing_range = 1e-3;
                data[level].degree = numbers::invalid_unsigned_int;
                data[level].eig_cg_n_iterations = level_A[level].m();
            }
        }
        smoother.initialize(level_A, data);
        transfer.initialize_constraints(level_constraints);
        transfer.build(dofs, [&](const unsigned int level, VectorOf<float> &v) {
            level_A[level].initialize_dof_vector(v);
        });
    }

    void solve(Timer &setup) {
        mg::Matrix<VectorOf<float>> matrices(level_A);
        MGCoarseGridApplySmoother<VectorOf<float>> coarse(smoother);
        Multigrid<VectorOf<float>> cycle(matrices, coarse, transfer, smoother, smoother);
        const PreconditionMG<3, VectorOf<float>, Transfer> preconditioner(dofs, cycle, transfer);
        preconditioner.vmult(x, b); // the smoothers estimate their eigenvalues when they are first used
        const double setup_seconds = setup.wall_time();

        double seconds = std::numeric_limits<double>::max(), cpu_seconds = seconds;
        unsigned int iterations = 0;
        for (unsigned int repeat = 0; repeat < options.repeats; ++repeat) {
            SolverControl control(100, 1e-9 * b.l2_norm());
            SolverCG<VectorOf<double>> cg(control);
            x = 0;
            Timer timer(MPI_COMM_WORLD, true);
            cg.solve(A, x, b, preconditioner);
            timer.stop();
            seconds = std::min(seconds, timer.wall_time());
            cpu_seconds = std::min(cpu_seconds, timer.cpu_time());
            iterations = control.last_step();
        }
        report(setup_seconds, seconds, cpu_seconds, iterations);
    }

    void report(const double setup_seconds, const double seconds, const double cpu_seconds,
                const unsigned int iterations) {
        VectorOf<double> r(b);
        A.vmult(r, x);
        r.sadd(-1, b);
        const double residual = r.l2_norm() / b.l2_norm(), error = l2_error(), n = dofs.n_dofs();
        const unsigned int processes = Utilities::MPI::n_mpi_processes(MPI_COMM_WORLD);
        if (Utilities::MPI::this_mpi_process(MPI_COMM_WORLD) != 0) return;
        std::printf("degree=%d cells=%u levels=%u dofs=%.0f processes=%u lanes_double=%u lanes_float=%u "
                    "smoother_degree=%u iterations=%u residual=%.2e setup=%.3f solve=%.3f cpu=%.3f "
                    "us_per_dof=%.4f l2=%.3e\n",
                    k, n_cells_1d, mesh.n_global_levels(), n, processes,
                    (unsigned)VectorizedArray<double>::size(), (unsigned)VectorizedArray<float>::size(),
                    options.smoother_degree, iterations, residual, setup_seconds, seconds, cpu_seconds,
                    1e6 * seconds / n, error);
    }

    // With one Gauss point more in every direction than the operator has, which would see too little of the
    // error.
    double l2_error() {
        ScalarFunctionFromFunctionObject<3> exact([](const Point<3> &p) {
            return std::sin(numbers::PI * p[0]) * std::sin(numbers::PI * p[1]) * std::sin(numbers::PI * p[2]);
        });
        Vector<double> of_cells(mesh.n_active_cells());
        x.update_ghost_values();
        VectorTools::integrate_difference(mapping, dofs, x, exact, of_cells, QGauss<3>(k + 2),
                                          VectorTools::L2_norm);
        return VectorTools::compute_global_error(mesh, of_cells, VectorTools::L2_norm);
    }
};

int main(int argc, char **argv) {
    const Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
    const int degree = argc > 1 ? std::atoi(argv[1]) : 0;
    Options options;
    if (argc > 2) options.min_dofs = std::atof(argv[2]);
    if (argc > 3) options.smoother_degree = std::atoi(argv[3]);
    if (argc > 4) options.repeats = std::atoi(argv[4]);
    switch (degree) {
    case 3:
        Problem<3>(options).run();
        break;
    case 4:
        Problem<4>(options).run();
        break;
    case 5:
        Problem<5>(options).run();
        break;
    case 6:
        Problem<6>(options).run();
        break;
    case 7:
        Problem<7>(options).run();
        break;
    default:
        std::fprintf(stderr, "usage: poisson 3..7 [MIN_DOFS [SMOOTHER_DEGREE [REPEATS]]]\n");
        return 2;
    }
    return 0;
}
